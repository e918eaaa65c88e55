import { z } from 'zod';
import { httpUrl, jsonObject } from './value-types.ts';

type Prefix = 'HIE' | 'PHARMACY' | 'LAB';

/**
 * What of a source's connection the environment names: address, login and secrets each by itself, and everything else in one
 * JSON object, whose members are those of src/exchange/sources/connectors/source-settings.ts.
 */
const OF_SOURCE = {
  BASE_URL: httpUrl,
  BEARER_TOKEN: z.string().optional(),
  TOKEN_URL: httpUrl.optional(),
  CLIENT_ID: z.string().optional(),
  CLIENT_SECRET: z.string().optional(),
  CALLBACK_SECRET: z.string().optional(),
  SETTINGS: jsonObject.default({}),
};

type OfSource = typeof OF_SOURCE;
type Prefixed<P extends Prefix> = { [K in keyof OfSource as `${P}_${K}`]: OfSource[K] };

/** The variables of one source, each named after the source: `HIE_BASE_URL`. */
const variablesOf = <const P extends Prefix>(prefix: P): Prefixed<P> =>
  Object.fromEntries(
    Object.entries(OF_SOURCE).map(([name, type]) => [`${prefix}_${name}`, type]),
  ) as Prefixed<P>;

export const SOURCE_VARIABLES = {
  ...variablesOf('HIE'),
  ...variablesOf('PHARMACY'),
  ...variablesOf('LAB'),
};

/** The names of all variables of one source. */
export const sourceVariableNames = <const P extends Prefix>(prefix: P): (keyof Prefixed<P>)[] =>
  Object.keys(variablesOf(prefix)) as (keyof Prefixed<P>)[];
