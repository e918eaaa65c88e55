/** Input of the workflow `directoryRefresh`. */
export interface DirectoryRefreshInput {
  /** Name of the directory; PostgreSQL has where it is read from. */
  directory: string;
}

/** Names of the queries of `directoryRefresh`. */
export const DIRECTORY_REFRESH_MESSAGES = {
  /** Query: `DirectoryLoaded`, once it has ended. */
  status: 'status',
} as const;

/** What a load of a directory has done: counts only. */
export interface DirectoryLoaded {
  read: number;
  added: number;
  changed: number;
  unchanged: number;
  repeated: number;
  parts: number;
  ignored: number;
  refused: number;
  remarked: number;
  removed: number;
  /** Why entries that it lacks were kept, if they were. */
  kept?: string;
}
