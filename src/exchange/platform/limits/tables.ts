export interface LimitTables {
  rate_window: { account_id: string; name: string; window_start: Date; used: number };
}

declare module '../database/schema.ts' {
  interface Database extends LimitTables {}
}
