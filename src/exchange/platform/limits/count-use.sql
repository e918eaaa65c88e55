insert into rate_window as w (account_id, name, window_start, used)
select :accountId::uuid, name, date_trunc(:window, now(), 'UTC'), :uses::int from unnest(:names::text[]) as name
on conflict (account_id, name) do update set
  used = case when w.window_start < excluded.window_start then excluded.used else w.used + excluded.used end,
  window_start = greatest(w.window_start, excluded.window_start)
returning name, used,
  extract(epoch from window_start + ('1 ' || :window)::interval - clock_timestamp())::float * 1000 as reset_ms
