declare module '../../platform/database/schema.ts' {
  interface Database {
    /** Read and written by SQL only. */
    health_link: object;
    /** Each time that a link was opened. */
    health_link_opening: object;
  }
}

export {};
