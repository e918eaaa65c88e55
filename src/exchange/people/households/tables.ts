declare module '../../platform/database/schema.ts' {
  interface Database {
    household_value: {
      patient_id: string;
      account_id: string;
      value: Buffer;
      last_name: Buffer;
    };
  }
}
