import { request } from 'undici';
import { type Attack, gatewayCpu, slowestHealth } from './attack.ts';

const HEAD =
  'MSH|^~\\&|ADT|HOSPITAL|EXCHANGE|US|20260101120000+0000||ADT^A01|attack|P|2.5.1\r';
const MESSAGES: [string, string][] = [
  ['540 kB of repetitions', `${HEAD}PID|1||${'1~'.repeat(270_000)}\r`],
  ['300,000 segments', `${HEAD}${'A|\r'.repeat(300_000)}`],
];

export const hl7Messages: Attack = {
  name: 'HL7 v2 with 540 kB of repetitions; with 300,000 segments',
  async run(target) {
    const { connection, secrets } = target.stack;
    const seen: string[] = [];
    let holds = true;
    for (const [name, body] of MESSAGES) {
      const send = async () => {
        const answer = await request(
          `${connection.baseUrl}/notifications/hl7v2/simulator`,
          {
            method: 'POST',
            headers: {
              authorization: `Bearer ${secrets.notificationSecret}`,
              'content-type': 'application/hl7-v2',
            },
            body,
          },
        );
        return `${answer.statusCode} ${/MSA\|(\w\w)/.exec(await answer.body.text())?.[1]}`;
      };
      let answer = '';
      const sent = async () => {
        answer = await send();
      };
      const [health, cpu] = await gatewayCpu(target, () =>
        slowestHealth(target, sent()),
      );
      holds &&= /AE|AR|400|413/.test(answer);
      seen.push(`${name}: ${answer}, ${cpu}, slowest /health ${health}`);
    }
    return { seen: seen.join('; '), holds };
  },
};
