export interface LimitTables {
  rate_window: { account_id: string; name: string; window_start: Date; used: number };
}
