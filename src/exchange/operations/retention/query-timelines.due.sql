-- Entries about gaps stay, because the completeness of the record is read from them.
not t.is_gap and t.at < :before and q.status <> 'running' and q.ended_at < :before
