import { apiKeyCredential, createExchangeClient } from 'medical-data-exchange/client';
import type { Connection } from './connection.ts';

/** Has the exchange send the ends of sources to `url`, and returns the key that it signs with. Once for each address. */
export async function webhookKeyFor(url: string, { exchangeUrl, apiKey }: Connection): Promise<string> {
  const exchange = createExchangeClient({
    baseUrl: exchangeUrl,
    credential: apiKeyCredential(apiKey),
    idempotency: true,
    timeoutMs: 20_000,
  });
  const { answer } = await exchange.call('listWebhooks', {});
  const known = answer.webhooks.find((webhook) => webhook.url === url);
  if (known !== undefined) return known.webhookKey;
  const created = await exchange.call('createWebhook', { body: { url, types: ['network-query.*'] } });
  return created.answer.webhookKey;
}
