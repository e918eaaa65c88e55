import { parseKeyRing } from '../lib/key-ring.ts';
import { type CodecServer, createCodecServer } from '../temporal/codec-server.ts';
import type { StackPorts } from './stack-ports.ts';
import type { StackSecrets } from './stack-secrets.ts';

/** Lets the Temporal UI of this stack, and no other page, show payloads in clear; runs inside the supervisor. */
export function startUiCodec(secrets: StackSecrets, ports: StackPorts): Promise<CodecServer> {
  const origins = [`http://127.0.0.1:${ports.temporalUi}`, `http://localhost:${ports.temporalUi}`];
  return createCodecServer({
    keyRing: parseKeyRing(secrets.dataKeys),
    allowedOrigins: () => origins,
    pathSecret: secrets.codecPathSecret,
    host: '127.0.0.1',
    port: ports.codec,
  });
}
