import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';

/** Where a stack keeps its files: addresses as in BLOB_STORE, ORCHESTRATOR_FILES and AUDIT_HEADS. Contains a secret. */
export const storageSchema = z.object({
  blobs: z.string(),
  orchestratorFiles: z.string(),
  auditHeads: z.string(),
  /** The login of the S3 server, if they are buckets. */
  s3: z.object({ region: z.string(), accessKeyId: z.string(), secretAccessKey: z.string() }).optional(),
});
export type StackStorage = Readonly<z.infer<typeof storageSchema>>;

/** Folders in the data folder. */
export function storageInFolders(dataDir: string): StackStorage {
  const folder = (name: string) => pathToFileURL(join(dataDir, name)).href;
  return {
    blobs: folder('blobs'),
    orchestratorFiles: folder('orchestrator-files'),
    auditHeads: folder('audit-heads'),
  };
}

/** What the AWS SDK of a process reads. */
export const s3Environment = ({ s3 }: StackStorage): Readonly<Record<string, string>> =>
  s3 === undefined
    ? {}
    : {
        AWS_REGION: s3.region,
        AWS_ACCESS_KEY_ID: s3.accessKeyId,
        AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
      };
