/** The first message to the process: what it works on. */
export interface JobProcessOrder {
  databaseUrl: string;
  blobStore: string;
  dataKeys: string;
  simulatorUrl: string;
  hieClientSecret: string;
  pharmacyBearerToken: string;
  labBearerToken: string;
  /** Jobs at the same time. */
  workers: number;
}

/** Every further message: a query of this patient. */
export interface QueryOrder {
  accountId: string;
  patientId: string;
}

/**
 * The query is committed, with its job. Without a patient: the process is
 * ready.
 */
export interface JobProcessAnswer {
  patientId?: string;
}

/**
 * When a job that was being worked on is given to another worker. As long as
 * our workflow waits for a heartbeat.
 */
export const EXPIRE_SECONDS = 30;
