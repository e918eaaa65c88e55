import colors from 'picocolors';
import type { StackConnection } from './connection-file.ts';

/** What a person needs to begin: addresses and the key. */
export function describeStack(connection: StackConnection, dataDir: string): string {
  const rows: [string, string][] = [
    ['Gateway', connection.baseUrl],
    ['API reference', `${connection.baseUrl}/reference`],
    ['Temporal UI', connection.temporalUiUrl ?? `(of ${connection.temporalAddress})`],
    ['API key', connection.apiKey],
    ['Facility', connection.facilityId],
    ['Webhooks go to', `${connection.receiverUrl}/webhooks`],
    ['Sources', `${connection.simulatorUrl} (simulated)`],
    ['Data and logs', dataDir],
  ];
  const width = Math.max(...rows.map(([label]) => label.length)) + 2;
  const lines = rows.map(([label, value]) => `  ${colors.bold(label.padEnd(width))}${value}`);
  return ['', ...lines, '', 'Everything runs. Ctrl-C stops it.'].join('\n');
}
