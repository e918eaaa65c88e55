-- The row of a DocumentReference stays, because it says that its stored document was withdrawn.
r.retired_at < :before and r.resource_type <> 'DocumentReference'
