import colors from 'picocolors';
import type { StackConnection } from './connection-file.ts';

/** What a person needs to begin: addresses and the key. */
export function describeStack(connection: StackConnection, dataDir: string): string {
  const rows: [string, string][] = [
    ['Gateway', connection.baseUrl],
    ['API reference', `${connection.baseUrl}/reference`],
    ['Temporal UI', temporalUi(connection)],
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

/** The link lets in the first browser that opens it. */
function temporalUi({ temporalUiLink, temporalUiUrl, temporalAddress }: StackConnection): string {
  if (temporalUiLink !== undefined) return `${temporalUiLink} (works once)`;
  return temporalUiUrl ?? `(of ${temporalAddress})`;
}
