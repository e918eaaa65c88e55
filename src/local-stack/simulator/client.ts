import { request } from 'undici';
import { z } from 'zod';
import { countedRule, type FaultRuleInput } from './faults.ts';
import {
  answeredSubmission,
  type LetterInput,
  type SubmissionInput,
} from './letters.ts';
import { askedGateway, type GatewayNetwork } from './network.ts';
import { type NotifyInput, sentMessage } from './notifications.ts';

/** Sends a request below `/admin` and returns the body of its response. */
export type SimulatorCall = (
  method: 'GET' | 'PUT' | 'POST' | 'DELETE',
  path: string,
  body?: unknown,
) => Promise<string>;

/**
 * Calls the commands of a running simulator. A call throws an Error with the
 * simulator's message when it is rejected.
 */
export function createSimulatorCall(
  simulatorUrl: string,
  token?: string,
): SimulatorCall {
  return async (method, path, body) => {
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
}

/** What the command line makes the stack's simulator do, over HTTP. */
export function createSimulatorClient(simulatorUrl: string, token?: string) {
  const call = createSimulatorCall(simulatorUrl, token);
  return {
    /** Returns the active rules, in the order in which they are tried. */
    rules: async () =>
      z.array(countedRule).parse(JSON.parse(await call('GET', 'rules'))),
    /** Replaces all rules. */
    setRules: async (rules: readonly FaultRuleInput[]) =>
      void (await call('PUT', 'rules', rules)),
    clearRules: async () => void (await call('DELETE', 'rules')),
    /** Puts a Direct message of another provider into the exchange's inbox. */
    deliverLetter: async (letter: LetterInput) =>
      void (await call('POST', 'letters', letter)),
    /** Sends a message of another provider to a gateway by XDR. */
    submit: async (submission: SubmissionInput) =>
      answeredSubmission.parse(
        JSON.parse(await call('POST', 'gateway/submit', submission)),
      ),
    /** Asks a gateway for a sample patient, as a member of its network. */
    askGateway: async (network: GatewayNetwork, sample: string) =>
      askedGateway.parse(
        JSON.parse(await call('POST', 'gateway/ask', { network, sample })),
      ),
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

/** The `error` member of a rejection, else its text. */
function reasonIn(text: string): string {
  try {
    return z.object({ error: z.string() }).parse(JSON.parse(text)).error;
  } catch {
    return text;
  }
}
