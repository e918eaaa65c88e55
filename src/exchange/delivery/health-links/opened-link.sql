-- The link with a secret. Who counts attempts and uses locks it before, in a statement of its own. A denial that is recorded after a link was
-- made ends it while it applies; what denies the handing out of labelled data is applied to the document itself.
select l.id, l.account_id as "accountId", l.patient_id as "patientId", l.key_sha256 as "keySha256", l.passcode,
  l.is_one_time as "isOneTime", l.attempts_left as "attemptsLeft", health_link_status(l) as status,
  has_denied_since(l.patient_id, l.created_at) as "isDenied",
  (select count(*)::int from health_link_opening o
    where o.link_id = l.id and o.opened_at > now() - interval '1 minute') as "openedLately"
from health_link l where l.secret_sha256 = :hash
