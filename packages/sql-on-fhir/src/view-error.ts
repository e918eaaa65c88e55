/**
 * A definition is wrong, or does not fit the records. The message says what to
 * change, and contains nothing of a record.
 */
export class ViewError extends Error {
  override readonly name = 'ViewError';
}
