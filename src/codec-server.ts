import { ConfigError, readConfig } from './config.ts';
import { exitWithParent, reportReady } from './lib/exit-with-parent.ts';
import { parseKeyRing } from './lib/key-ring.ts';
import { runProcess } from './lib/process.ts';
import { createCodecServer } from './temporal/codec-server.ts';

/** Decodes payloads for the Temporal UI and CLI. In a deployment, put it behind the operators' login. */
await runProcess('codec-server', async (logger) => {
  exitWithParent();
  const config = readConfig([
    'DATA_KEYS',
    'CODEC_HOST',
    'CODEC_PORT',
    'CODEC_ALLOWED_ORIGIN',
    'CODEC_PATH_SECRET',
  ]);
  const { CODEC_ALLOWED_ORIGIN: origins, CODEC_PATH_SECRET: pathSecret } = config;
  if (origins === undefined || pathSecret === undefined)
    throw new ConfigError('The codec server needs CODEC_ALLOWED_ORIGIN and CODEC_PATH_SECRET');
  const allowedOrigins = origins.split(/\s+/);
  const server = await createCodecServer({
    keyRing: parseKeyRing(config.DATA_KEYS),
    allowedOrigins: () => allowedOrigins,
    pathSecret,
    host: config.CODEC_HOST,
    port: config.CODEC_PORT,
  });
  const { origin } = new URL(server.endpoint);
  logger.info({ origin, allowedOrigins }, 'codec server is ready');
  reportReady({ endpoint: server.endpoint });
  return { stop: () => server.close() };
});
