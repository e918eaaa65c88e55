import colors from 'picocolors';
import type { StackConnection } from '../../src/starter/local-stack/connection-file.ts';

/** The text that `npm start` prints: addresses, API key, and the next command, which begins with `starter`. */
export function describeStack(connection: StackConnection, dataDir: string, starter: string): string {
  const rows: [string, string][] = [
    ['Gateway', connection.baseUrl],
    ['API reference', `${connection.baseUrl}/reference`],
    ['Temporal UI', temporalUi(connection)],
    ['API key', connection.apiKey],
    ['Facility', connection.facilityId],
    ['Webhook receiver', `${connection.receiverUrl}/webhooks`],
    ['Sources', `${connection.simulatorUrl} (simulated)`],
    ...observers(connection),
    ['Data and logs', dataDir],
  ];
  const width = Math.max(...rows.map(([label]) => label.length)) + 2;
  const lines = rows.map(([label, value]) => `  ${colors.bold(label.padEnd(width))}${value}`);
  return [
    '',
    ...lines,
    '',
    `Everything is running; Ctrl-C stops it. In another terminal, try: ${starter} onboard --sample keith-kiehn`,
  ].join('\n');
}

function observers({ prometheusUrl, grafanaUrl }: StackConnection): [string, string][] {
  return [
    ...(prometheusUrl === undefined ? [] : [['Prometheus', `${prometheusUrl}/alerts`] as [string, string]]),
    ...(grafanaUrl === undefined ? [] : [['Grafana', `${grafanaUrl}/dashboards`] as [string, string]]),
  ];
}

/** The link opens the UI in the first browser that uses it. */
function temporalUi({ temporalUiLink, temporalUiUrl, temporalAddress }: StackConnection): string {
  if (temporalUiLink !== undefined) return `${temporalUiLink} (works once)`;
  return temporalUiUrl ?? `not configured (Temporal is at ${temporalAddress}; set TEMPORAL_UI_URL)`;
}
