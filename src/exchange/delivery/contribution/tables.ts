/** Read and written by SQL only. */
export interface ContributionTables {
  contribution: object;
  /** What each contribution stated of its resources. */
  contributed_resource: object;
}

declare module '../../platform/database/schema.ts' {
  interface Database extends ContributionTables {}
}
