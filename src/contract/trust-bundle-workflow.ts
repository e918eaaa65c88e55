/** Input of the workflow `trustBundleRefresh`. */
export interface TrustBundleRefreshInput {
  /** Name of the bundle; PostgreSQL has where it is read from. */
  bundle: string;
}

/** What a refresh of a trust bundle has done: counts only. */
export interface TrustBundleRefreshed {
  /** Certificates in the bundle. */
  read: number;
  /** Those that are anchors now. */
  anchors: number;
  added: number;
  removed: number;
  refused: number;
}
