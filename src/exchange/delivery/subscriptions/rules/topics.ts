import type { Basic, Coding, Extension, FhirResource } from 'fhir/r4.js';
import type { Json } from '#record-summary/fhir';

/** What can be subscribed to. */
export interface Topic {
  id: string;
  /** Its canonical URL. */
  url: string;
  /** The type of the focus; undefined: any that the FHIR API serves. */
  type?: string;
  /** The codes of its events, by which they can be filtered. */
  triggers: readonly { system: string; code: string }[];
  /**
   * The topic as R4 can express it: a Basic resource with the elements of R5's
   * SubscriptionTopic.
   */
  basic: Json;
}

interface DescribedTopic {
  id: string;
  url: string;
  title: string;
  description: string;
  type?: FhirResource['resourceType'];
  triggers: Topic['triggers'];
}

const ELEMENT =
  'http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic';
const TYPES = 'http://hl7.org/fhir/StructureDefinition';
const CHANGE = 'urn:medical-exchange:change';
const ADT_EVENT = 'http://terminology.hl7.org/CodeSystem/v2-0003';
const SOURCE = 'urn:medical-exchange:source';
const QUERY_STATUS = 'urn:medical-exchange:query-status';

/** The topics of this server. */
export const TOPICS: readonly Topic[] = [
  topicOf({
    id: 'patient-data-feed',
    url: 'http://hl7.org/fhir/us/core/SubscriptionTopic/patient-data-feed',
    title: "A patient's data changed",
    description:
      "A resource of a patient's consolidated record was created, changed or has gone. The focus is the resource.",
    triggers: [
      {
        system: 'http://hl7.org/fhir/us/core/CodeSystem/trigger',
        code: 'feed-event',
      },
      { system: CHANGE, code: 'create' },
      { system: CHANGE, code: 'update' },
      { system: CHANGE, code: 'delete' },
    ],
  }),
  topicOf({
    id: 'encounter-notifications',
    url: 'urn:medical-exchange:topic:encounter-notifications',
    title: 'An encounter of a patient began or ended',
    description:
      'A sender notified that the patient was admitted, transferred or discharged. The focus is the Patient.',
    type: 'Patient',
    triggers: [
      { system: ADT_EVENT, code: 'A01' },
      { system: ADT_EVENT, code: 'A02' },
      { system: ADT_EVENT, code: 'A03' },
    ],
  }),
  topicOf({
    id: 'query-completed',
    url: 'urn:medical-exchange:topic:query-completed',
    title: 'A source has answered a network query',
    description:
      'The answer of a source to a network query about the patient is complete, or the source has failed. The focus is the Patient.',
    type: 'Patient',
    triggers: [
      { system: SOURCE, code: 'hie' },
      { system: SOURCE, code: 'pharmacy' },
      { system: SOURCE, code: 'lab' },
      { system: QUERY_STATUS, code: 'completed' },
      { system: QUERY_STATUS, code: 'failed' },
    ],
  }),
];

function topicOf({ title, description, ...topic }: DescribedTopic): Topic {
  const { id, url } = topic;
  const basic = {
    resourceType: 'Basic',
    id,
    modifierExtension: [{ url: `${ELEMENT}.status`, valueCode: 'active' }],
    extension: [
      { url: `${ELEMENT}.url`, valueUri: url },
      { url: `${ELEMENT}.title`, valueString: title },
      { url: `${ELEMENT}.description`, valueMarkdown: description },
      triggerElement(topic, description),
      filterElement('patient', 'The patients whom the event is about'),
      filterElement('trigger', 'The codes of the event'),
    ],
    code: {
      coding: [
        {
          system: 'http://hl7.org/fhir/fhir-types',
          code: 'SubscriptionTopic',
        },
      ],
    },
  } satisfies Basic;
  return { ...topic, basic };
}

/** A topic about any type of focus is triggered by resources, not by events. */
function triggerElement(
  { type, triggers }: Pick<DescribedTopic, 'type' | 'triggers'>,
  description: string,
): Extension {
  if (type === undefined)
    return {
      url: `${ELEMENT}.resourceTrigger`,
      extension: [
        { url: 'description', valueMarkdown: description },
        { url: 'resource', valueUri: `${TYPES}/DomainResource` },
      ],
    };
  const coding: Coding[] = [...triggers];
  return {
    url: `${ELEMENT}.eventTrigger`,
    extension: [
      { url: 'description', valueMarkdown: description },
      { url: 'event', valueCodeableConcept: { coding } },
      { url: 'resource', valueUri: `${TYPES}/${type}` },
    ],
  };
}

function filterElement(parameter: string, description: string): Extension {
  return {
    url: `${ELEMENT}.canFilterBy`,
    extension: [
      { url: 'description', valueMarkdown: description },
      { url: 'filterParameter', valueString: parameter },
    ],
  };
}
