import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { loadSamplePatients } from '../../../src/local-stack/sample-patients.ts';
import type {
  NotifiedEvent,
  NotifyRequest,
  SentMessage,
} from '../../../src/local-stack/simulator/notifications.ts';
import { idAtSource } from '../data/patient-view.ts';
import { simulatedNotification } from './fhir.ts';
import { hl7Message } from './hl7v2.ts';
import { Visits } from './visits.ts';

/**
 * The exchange that notifications are sent to, and the sender's name and
 * secret.
 */
export interface NotifyTarget {
  /** Base address of the exchange. */
  url: string;
  sender: string;
  secret: string;
}

interface Message {
  event: string;
  format: 'hl7v2' | 'fhir';
  body: string;
}

/**
 * Thrown when notifications cannot be sent: no exchange is configured, or the
 * request makes no sense.
 */
export class CannotNotifyError extends Error {
  override readonly name = 'CannotNotifyError';
}

const TIMEOUT_MS = 10_000;

/**
 * The senders of notifications about sample patients: a hospital, a pharmacy
 * and a laboratory.
 */
export class Notifier {
  readonly #visits = new Visits();
  private readonly target: NotifyTarget | undefined;

  constructor(target: NotifyTarget | undefined) {
    this.target = target;
  }

  /**
   * Creates the messages in the order of the events, and sends them in the
   * requested order. Throws CannotNotifyError.
   */
  async notify(asked: NotifyRequest): Promise<SentMessage[]> {
    const target = this.target;
    if (target === undefined)
      throw new CannotNotifyError(
        'To send notifications, set EXCHANGE_BASE_URL and NOTIFICATION_SENDERS.',
      );
    const { order, times, delayMs } = asked.arrival;
    const messages = arranged(this.#messages(asked), order);
    const sent: SentMessage[] = [];
    for (const message of messages) {
      for (let time = 0; time < times; time++) {
        if (delayMs > 0) await sleep(delayMs);
        sent.push({
          event: message.event,
          format: message.format,
          ...(await post(target, message)),
        });
      }
    }
    return sent;
  }

  #messages({
    sample: key,
    format,
    visit: visitName,
    record,
    events,
  }: NotifyRequest): Message[] {
    const sample = loadSamplePatients().find((known) => known.key === key);
    if (sample === undefined)
      throw new CannotNotifyError(`There is no sample ${key}`);
    const nowMs = Date.now();
    return events.map((given, index): Message => {
      const event: NotifiedEvent = {
        ...given,
        at:
          given.at ??
          new Date(nowMs - (events.length - 1 - index) * 1_000).toISOString(),
      };
      const ofMessage = event.event === 'merge' ? 'hl7v2' : format;
      const visitNumber = `${sample.key}-${visitName}`;
      const facts = {
        id: randomUUID().slice(0, 18),
        event,
        sample,
        visitNumber,
        record: record ?? idAtSource('hie', `${sample.patientId}/record`),
        visit: this.#visits.after(visitNumber, event),
      };
      const body =
        ofMessage === 'fhir'
          ? JSON.stringify(simulatedNotification(facts))
          : hl7Message(facts);
      return { event: event.event, format: ofMessage, body };
    });
  }
}

function arranged(
  messages: Message[],
  order: NotifyRequest['arrival']['order'],
): Message[] {
  if (order === 'reversed') return messages.reverse();
  if (order === 'as-happened') return messages;
  return messages
    .map((message) => ({ message, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ message }) => message);
}

async function post(
  { url, sender, secret }: NotifyTarget,
  { format, body }: Message,
): Promise<Pick<SentMessage, 'status' | 'answer'>> {
  try {
    const response = await request(`${url}/notifications/${format}/${sender}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type':
          format === 'fhir' ? 'application/fhir+json' : 'application/hl7-v2',
      },
      body,
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    });
    return {
      status: response.statusCode,
      answer: answerOf(format, await response.body.text()),
    };
  } catch {
    return { status: 0 };
  }
}

function answerOf(format: Message['format'], text: string): string | undefined {
  const pattern = format === 'fhir' ? /"code":"([a-z-]+)"/ : /\rMSA.([A-Z]{2})/;
  return pattern.exec(text)?.[1];
}
