import { request } from 'undici';
import { z } from 'zod';
import type { Correction } from './data/corrections.ts';
import type { FaultRuleInput } from './faults/rules.ts';
import { type NotifyInput, type SentMessage, sentMessage } from './notifications/request.ts';
import type { Carried } from './partners/messages.ts';
import type { PartnerSettingsChange } from './partners/settings.ts';
import { type LogFilter, type RequestLogEntry, requestLogEntry } from './request-log.ts';
import type { SettingsChange } from './settings.ts';

/** Steers a running simulator over HTTP. Every call throws an Error with the simulator's words when refused. */
export interface SimulatorAdmin {
  /** Puts these rules in place of all others. */
  setRules(rules: readonly FaultRuleInput[]): Promise<void>;
  clearRules(): Promise<void>;
  changeSettings(change: SettingsChange): Promise<void>;
  /** Back to the settings the simulator was started with. */
  resetSettings(): Promise<void>;
  /** A source deletes a resource, or moves it to another sample person. */
  correct(correction: Correction): Promise<void>;
  /** Everything is again as the samples have it. */
  undoCorrections(): Promise<void>;
  /** How the identity and the transport partner behave from now on. */
  changePartners(change: PartnerSettingsChange): Promise<void>;
  /** Brings a message to the exchange, as its transport partner; the status that it answered. */
  deliverMessage(message: { messageId: string; [member: string]: unknown }): Promise<number>;
  /** What the transport partner was handed over under this id of the exchange's. */
  carriedMessage(id: string): Promise<Carried>;
  /** What the sources were asked, in the order of the answers. */
  requests(filter?: LogFilter): Promise<RequestLogEntry[]>;
  /** Tells the exchange of a sample person; how each message was answered, in the order of sending. */
  notify(notification: NotifyInput): Promise<SentMessage[]>;
}

export function createSimulatorAdmin(simulatorUrl: string, token?: string): SimulatorAdmin {
  const call = async (
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<string> => {
    const response = await request(new URL(`/admin/${path}`, simulatorUrl), {
      method,
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.body.text();
    if (response.statusCode >= 400) throw new Error(`The simulator refused ${method} ${path}: ${text}`);
    return text;
  };
  return {
    setRules: async (rules) => void (await call('PUT', 'rules', rules)),
    clearRules: async () => void (await call('DELETE', 'rules')),
    changeSettings: async (change) => void (await call('PUT', 'settings', change)),
    notify: async (notification) =>
      z.array(sentMessage).parse(JSON.parse(await call('POST', 'notifications', notification))),
    correct: async (correction) => void (await call('POST', 'corrections', correction)),
    undoCorrections: async () => void (await call('DELETE', 'corrections')),
    changePartners: async (change) => void (await call('PUT', 'partners', change)),
    deliverMessage: async (message) =>
      z.object({ status: z.int() }).parse(JSON.parse(await call('POST', 'messages', message))).status,
    carriedMessage: async (id) => JSON.parse(await call('GET', `messages/${id}`)) as Carried,
    resetSettings: async () => void (await call('DELETE', 'settings')),
    requests: async (filter = {}) => {
      const query = new URLSearchParams();
      for (const [name, value] of Object.entries(filter))
        if (value !== undefined) query.set(name, String(value));
      return z.array(requestLogEntry).parse(JSON.parse(await call('GET', `requests?${query}`)));
    },
  };
}
