import { ConfigError, readConfig } from './config.ts';
import { exitWithParent, reportReady } from './lib/exit-with-parent.ts';
import { parseKeyRing } from './lib/key-ring.ts';
import { runProcess } from './lib/process.ts';
import { createCodecServer } from './temporal/codec-server.ts';

/**
 * Decodes payloads for the Temporal UI and CLI. In a deployment, put it behind
 * the operators' login.
 */
await runProcess('codec-server', async (logger) => {
  exitWithParent();
  const config = readConfig([
    'DATA_KEYS',
    'LISTEN_HOST',
    'CODEC_PORT',
    'TEMPORAL_UI_URL',
    'CODEC_PATH_SECRET',
  ]);
  const { TEMPORAL_UI_URL: uiUrl, CODEC_PATH_SECRET: pathSecret } = config;
  if (uiUrl === undefined || pathSecret === undefined)
    throw new ConfigError(
      'The codec server needs TEMPORAL_UI_URL and CODEC_PATH_SECRET',
    );
  const ui = new URL(uiUrl).origin;
  // Two names of this machine, both usual in a browser.
  const allowedOrigins = [
    ...new Set([
      ui,
      ui.replace('//127.0.0.1', '//localhost'),
      ui.replace('//localhost', '//127.0.0.1'),
    ]),
  ];
  const server = await createCodecServer({
    keyRing: parseKeyRing(config.DATA_KEYS),
    allowedOrigins: () => allowedOrigins,
    pathSecret,
    host: config.LISTEN_HOST,
    port: config.CODEC_PORT,
  });
  const { origin } = new URL(server.endpoint);
  logger.info({ origin, allowedOrigins }, 'codec server is ready');
  reportReady({ endpoint: server.endpoint });
  return { stop: () => server.close() };
});
