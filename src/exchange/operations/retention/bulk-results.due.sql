r.result is not null and r.status not in ('waiting', 'processing') and r.ended_at < :before
