import {
  apiKeyCredential,
  createExchangeClient,
} from '@medical-data-exchange/library/client';
import type { Connection } from './connection.ts';

/**
 * Registers `url` for webhooks about queries, unless it is registered already.
 * Returns the key that signs them.
 */
export async function webhookKeyFor(
  url: string,
  { exchangeUrl, apiKey }: Connection,
): Promise<string> {
  const exchange = createExchangeClient({
    baseUrl: exchangeUrl,
    credential: apiKeyCredential(apiKey),
    idempotency: true,
    timeoutMs: 20_000,
  });
  const { answer } = await exchange.call('listWebhooks', {});
  const known = answer.webhooks.find((webhook) => webhook.url === url);
  if (known !== undefined) return known.webhookKey;
  const created = await exchange.call('createWebhook', {
    body: { url, types: ['network-query.*'] },
  });
  return created.answer.webhookKey;
}
