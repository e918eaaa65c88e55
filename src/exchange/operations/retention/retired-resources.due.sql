-- The row of a DocumentReference stays, and that of another resource with files, because it says that its stored document was withdrawn.
r.retired_at < :before and not says_of_document(r)
