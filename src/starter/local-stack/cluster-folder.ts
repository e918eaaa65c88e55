import { access } from 'node:fs/promises';
import { join } from 'node:path';

/** The S3 server's folder in the data folder of `npm run cluster`. */
export const S3_FOLDER = 'seaweedfs';

/** Whether a data folder is one of `npm run cluster`: blobs and workflows are then not where `npm start` keeps them. */
export const holdsCluster = (dataDir: string): Promise<boolean> =>
  access(join(dataDir, S3_FOLDER)).then(
    () => true,
    () => false,
  );
