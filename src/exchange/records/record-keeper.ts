/** Keeps patients' consolidated records up to date. */
export interface RecordKeeper {
  /**
   * Merges what the sources delivered since the last time; nothing new costs one query. One at a time for a patient,
   * whoever calls; safe to call again after a crash. With `convert`, C-CDA documents that are new are made FHIR first
   * (a worker's business; a reader merges only).
   */
  merge(
    accountId: string,
    patientId: string,
    options?: { convert?: boolean; signal?: AbortSignal },
  ): Promise<{ changed: number }>;
}
