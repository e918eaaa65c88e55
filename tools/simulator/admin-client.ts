import { request } from 'undici';
import { z } from 'zod';
import type { Addition, Correction } from './data/corrections.ts';
import { countedRule, type FaultRuleInput } from './faults/rules.ts';
import { type NotifyInput, sentMessage } from './notifications/request.ts';
import type { Carried } from './partners/messages.ts';
import type { PartnerSettingsChange } from './partners/settings.ts';
import { type LogFilter, requestLogEntry } from './request-log.ts';
import type { SettingsChange } from './settings.ts';

/** The `error` member of a rejection, else its text. */
function reasonIn(text: string): string {
  try {
    return z.object({ error: z.string() }).parse(JSON.parse(text)).error;
  } catch {
    return text;
  }
}

export type SimulatorAdmin = ReturnType<typeof createSimulatorAdmin>;

/**
 * Controls a running simulator over HTTP. Every call throws an Error with the
 * simulator's message when it is rejected.
 */
export function createSimulatorAdmin(simulatorUrl: string, token?: string) {
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
      throw new Error(
        `The simulator rejected ${method} /admin/${path}: ${reasonIn(text)}`,
      );
    return text;
  };
  return {
    /** Returns the active rules, in the order in which they are tried. */
    rules: async () =>
      z.array(countedRule).parse(JSON.parse(await call('GET', 'rules'))),
    /** Replaces all rules. */
    setRules: async (rules: readonly FaultRuleInput[]) =>
      void (await call('PUT', 'rules', rules)),
    clearRules: async () => void (await call('DELETE', 'rules')),
    changeSettings: async (change: SettingsChange) =>
      void (await call('PUT', 'settings', change)),
    /** Restores the settings with which the simulator was started. */
    resetSettings: async () => void (await call('DELETE', 'settings')),
    /**
     * Deletes a resource at a source, or moves it to another sample patient.
     */
    correct: async (correction: Correction) =>
      void (await call('POST', 'corrections', correction)),
    /** Adds a resource to the record of a sample patient, or replaces it. */
    put: async (addition: Addition) =>
      void (await call('PUT', 'resources', addition)),
    /** Restores the records of the samples. */
    undoCorrections: async () => void (await call('DELETE', 'corrections')),
    /**
     * Changes the behaviour of the identity partner and the transport partner.
     */
    changePartners: async (change: PartnerSettingsChange) =>
      void (await call('PUT', 'partners', change)),
    /**
     * Delivers a message to the exchange as its transport partner; returns the
     * HTTP status, 0 for no response.
     */
    deliverMessage: async (message: {
      messageId: string;
      [member: string]: unknown;
    }) =>
      z
        .object({ status: z.int() })
        .parse(JSON.parse(await call('POST', 'messages', message))).status,
    /**
     * Returns the message that the transport partner accepted under this id of
     * the exchange.
     */
    carriedMessage: async (id: string) =>
      JSON.parse(await call('GET', `messages/${id}`)) as Carried,
    /** Returns the requests to the sources, in the order of their responses. */
    async requests(filter: LogFilter = {}) {
      const query = new URLSearchParams();
      for (const [name, value] of Object.entries(filter))
        if (value !== undefined) query.set(name, String(value));
      return z
        .array(requestLogEntry)
        .parse(JSON.parse(await call('GET', `requests?${query}`)));
    },
    /**
     * Sends notifications about a sample patient to the exchange; returns the
     * response to each, in the order of sending.
     */
    notify: async (notification: NotifyInput) =>
      z
        .array(sentMessage)
        .parse(JSON.parse(await call('POST', 'notifications', notification))),
  };
}
