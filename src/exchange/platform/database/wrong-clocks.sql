select format('the clock of %s is %s s %s PostgreSQL''s', process, abs(ahead), case when ahead > 0 then 'ahead of' else 'behind' end) as what
from (select process, round(extract(epoch from shown - seen_at))::int as ahead from process_clock
      where seen_at > now() - interval '3 minutes') c
where abs(ahead) > :most::int
order by process
limit 20
