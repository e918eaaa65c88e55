/**
 * The login of an S3 server. Without one, the AWS SDK finds it (AWS_REGION,
 * AWS_ACCESS_KEY_ID, files, roles).
 */
export interface S3Login {
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}
