import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { systemEnvironment } from '../../src/config.ts';
import type { StackConnection } from '../../src/local-stack/connection-file.ts';

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url));

/**
 * Subscribes to what changes, by the example of subscriptions, and returns how
 * to look through all other doors by theirs: a line of each about a patient,
 * undefined for one that did not answer.
 */
export function openDoors({ baseUrl, apiKey: KEY }: StackConnection) {
  const addresses = {
    BASE: `${baseUrl}/fhir/R4`,
    API: `${baseUrl}/medical/v1`,
  };
  const start = (file: string, ...args: string[]) => {
    const env = { ...systemEnvironment(), ...addresses, KEY, MDX_API_KEY: KEY };
    const child = spawn(process.execPath, [EXAMPLES + file, ...args], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return { child, printed: text(child.stdout) };
  };
  const lineOf = async (
    { printed }: ReturnType<typeof start>,
    wanted: RegExp,
    which = 0,
  ) =>
    (await printed)
      .split('\n')
      .filter((line) => wanted.test(line))
      .at(which);
  const subscriber = start(
    'subscription/receive.mjs',
    'Immunization?status=completed',
  );
  return async ({
    patientId,
    fullName,
  }: {
    patientId: string;
    fullName: string;
  }) => {
    subscriber.child.kill('SIGTERM');
    const [subscription, summary, healthLink, agent, tables] =
      await Promise.all([
        lineOf(subscriber, /^event \d/, -1),
        lineOf(
          start('patient-summary/print.mjs', patientId),
          /^(Active problems|Current medications|Immunizations): \d/,
        ),
        lineOf(start('health-link/share.mjs', patientId), /^opened: /),
        lineOf(
          start('agent/ask.mjs', `${baseUrl}/mcp`, fullName),
          /^Immunizations: /,
        ),
        lineOf(start('views/active-conditions.mjs'), /^\d+ /),
      ]);
    return {
      subscription,
      summary,
      'health link': healthLink,
      agent,
      tables: tables?.replace(
        /^(\d+) (.*)/,
        '$2: $1 of the patients have it now',
      ),
    };
  };
}
