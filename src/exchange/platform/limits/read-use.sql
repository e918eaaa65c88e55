select name, case when window_start >= minute then used else 0 end as used,
  extract(epoch from greatest(window_start, minute) + interval '1 minute' - clock_timestamp())::float * 1000 as reset_ms
from unnest(:names::text[]) as limits (name)
left join rate_window using (name) cross join date_trunc('minute', now()) as minute
