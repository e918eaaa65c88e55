/** What an exchange that no caller reaches over HTTP still needs. */
export const BENCH_SETTINGS = {
  ID_HMAC_KEY: 'a hashing key for benchmarks',
  LINK_SIGNING_KEY: 'a link signing key for benchmarks',
  PUBLIC_BASE_URL: 'http://127.0.0.1:1',
  LOOPBACK_EXCEPT_PORTS: [],
  WEBHOOK_TRUSTED_ORIGINS: [],
  HIE_CALLBACK_SECRET: undefined,
  PHARMACY_CALLBACK_SECRET: undefined,
  LAB_CALLBACK_SECRET: undefined,
};
