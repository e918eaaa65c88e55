// Makes this file a module, whose declaration adds to that of the schema.
export {};

declare module '../../platform/database/schema.ts' {
  interface Database {
    /** Read and written by SQL only, as `contributed_resource` is. */
    contribution: object;
    /** What each contribution stated of its resources. */
    contributed_resource: object;
  }
}
