import { request } from 'undici';
import { z } from 'zod';
import type { Addition, Correction } from './data/corrections.ts';
import { type CountedRule, countedRule, type FaultRuleInput } from './faults/rules.ts';
import { type NotifyInput, type SentMessage, sentMessage } from './notifications/request.ts';
import type { Carried } from './partners/messages.ts';
import type { PartnerSettingsChange } from './partners/settings.ts';
import { type LogFilter, type RequestLogEntry, requestLogEntry } from './request-log.ts';
import type { SettingsChange } from './settings.ts';

/** Controls a running simulator over HTTP. Every call throws an Error with the simulator's message when it is rejected. */
export interface SimulatorAdmin {
  /** Returns the active rules, in the order in which they are tried. */
  rules(): Promise<CountedRule[]>;
  /** Replaces all rules. */
  setRules(rules: readonly FaultRuleInput[]): Promise<void>;
  clearRules(): Promise<void>;
  changeSettings(change: SettingsChange): Promise<void>;
  /** Restores the settings with which the simulator was started. */
  resetSettings(): Promise<void>;
  /** Deletes a resource at a source, or moves it to another sample patient. */
  correct(correction: Correction): Promise<void>;
  /** Adds a resource to the record of a sample patient, or replaces it. */
  put(addition: Addition): Promise<void>;
  /** Restores the records of the samples. */
  undoCorrections(): Promise<void>;
  /** Changes the behaviour of the identity partner and the transport partner. */
  changePartners(change: PartnerSettingsChange): Promise<void>;
  /** Delivers a message to the exchange as its transport partner; returns the HTTP status, 0 for no response. */
  deliverMessage(message: { messageId: string; [member: string]: unknown }): Promise<number>;
  /** Returns the message that the transport partner accepted under this id of the exchange. */
  carriedMessage(id: string): Promise<Carried>;
  /** Returns the requests to the sources, in the order of their responses. */
  requests(filter?: LogFilter): Promise<RequestLogEntry[]>;
  /** Sends notifications about a sample patient to the exchange; returns the response to each, in the order of sending. */
  notify(notification: NotifyInput): Promise<SentMessage[]>;
}

/** The `error` member of a rejection, else its text. */
function reasonIn(text: string): string {
  try {
    return z.object({ error: z.string() }).parse(JSON.parse(text)).error;
  } catch {
    return text;
  }
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
    if (response.statusCode >= 400)
      throw new Error(`The simulator rejected ${method} /admin/${path}: ${reasonIn(text)}`);
    return text;
  };
  return {
    rules: async () => z.array(countedRule).parse(JSON.parse(await call('GET', 'rules'))),
    setRules: async (rules) => void (await call('PUT', 'rules', rules)),
    clearRules: async () => void (await call('DELETE', 'rules')),
    changeSettings: async (change) => void (await call('PUT', 'settings', change)),
    notify: async (notification) =>
      z.array(sentMessage).parse(JSON.parse(await call('POST', 'notifications', notification))),
    correct: async (correction) => void (await call('POST', 'corrections', correction)),
    put: async (addition) => void (await call('PUT', 'resources', addition)),
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
