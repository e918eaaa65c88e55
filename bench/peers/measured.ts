/** What one server did in one round. */
export interface PeerMeasured {
  /**
   * As the sources have them: without documents, and before any are made of
   * these.
   */
  resourcesPerSecond: number;
  /** Per resource. */
  cpuMs: { server: number; postgres: number; temporal?: number };
}
