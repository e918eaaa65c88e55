/**
 * A place that may have certificates cannot be asked now. Its text names the
 * kind of place and the fault, and no address.
 */
export class DiscoveryError extends Error {
  override readonly name = 'DiscoveryError';
}
