import { z } from 'zod';
import {
  createSimulatorCall,
  createSimulatorClient,
} from '../../src/local-stack/simulator/client.ts';
import type { Addition, Correction } from './data/corrections.ts';
import type { PartnerSettingsChange } from './partners/settings.ts';
import { type LogFilter, requestLogEntry } from './request-log.ts';
import type { SettingsChange } from './settings.ts';

export type SimulatorAdmin = ReturnType<typeof createSimulatorAdmin>;

/**
 * Controls a running simulator over HTTP: all that the command line can, and
 * what the demo, benches and tests need besides. Every call throws an Error
 * with the simulator's message when it is rejected.
 */
export function createSimulatorAdmin(simulatorUrl: string, token?: string) {
  const call = createSimulatorCall(simulatorUrl, token);
  return {
    ...createSimulatorClient(simulatorUrl, token),
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
    /** Changes the behaviour of the identity partner. */
    changePartners: async (change: PartnerSettingsChange) =>
      void (await call('PUT', 'partners', change)),
    /** Returns the requests to the sources, in the order of their responses. */
    async requests(filter: LogFilter = {}) {
      const query = new URLSearchParams();
      for (const [name, value] of Object.entries(filter))
        if (value !== undefined) query.set(name, String(value));
      return z
        .array(requestLogEntry)
        .parse(JSON.parse(await call('GET', `requests?${query}`)));
    },
  };
}
