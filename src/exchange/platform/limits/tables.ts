// Makes this file a module, whose declaration adds to that of the schema.
export {};

declare module '../database/schema.ts' {
  interface Database {
    rate_window: {
      account_id: string;
      name: string;
      window_start: Date;
      used: number;
    };
  }
}
