import { isJson, type Json, objectsOf, textOf } from './json.ts';

const STATED_ON = 'urn:medical-exchange:stated-on';
/** Where PostgreSQL finds it in a resource. */
export const STATED_ON_PATH = `$.meta.extension[*] ? (@.url == "${STATED_ON}").valueDateTime`;

/** The resource with the time of the document that states it, FHIR dateTime, as an extension of its `meta`. */
export const withStatedOn = (resource: Json, time: string | undefined): Json =>
  time === undefined
    ? resource
    : {
        ...resource,
        meta: {
          ...(isJson(resource.meta) ? resource.meta : {}),
          extension: [{ url: STATED_ON, valueDateTime: time }],
        },
      };

/** The time of the document that a resource was converted from; undefined for others. */
export const statedOn = ({ meta }: Json): string | undefined =>
  isJson(meta)
    ? textOf(objectsOf(meta.extension).find(({ url }) => url === STATED_ON)?.valueDateTime)
    : undefined;
