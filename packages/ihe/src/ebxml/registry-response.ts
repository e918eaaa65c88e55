import {
  type IheErrorMeaning,
  lastSegment,
  meaningOfIheError,
} from '../errors.ts';
import { EBXML_RS } from '../namespaces.ts';
import { type XmlFragment, xml } from '../xml/write-xml.ts';
import { attributeOf, type XmlElement, xmlText } from '../xml/xml-element.ts';
import { registryChildren } from './registry-elements.ts';
import {
  ERROR_SEVERITY,
  RESPONSE_STATUSES,
  type RegistryStatus,
} from './registry-names.ts';

/** What a RegistryError says, as written. */
interface RegistryErrorFacts {
  code: string;
  severity: 'Error' | 'Warning';
  location: string | undefined;
  context: string | undefined;
  text: string | undefined;
}

/**
 * One entry of a RegistryErrorList. The other side's words stay out of JSON,
 * logs and `util.inspect`, because they may name a patient.
 */
export class RegistryProblem {
  /** As written; IHE's codes and others. */
  readonly code: string;

  /** A warning is no failure. */
  readonly severity: 'Error' | 'Warning';

  readonly meaning: IheErrorMeaning;

  /** The home community that `location` names, as an OID. */
  readonly homeCommunity: string | undefined;

  readonly #facts: RegistryErrorFacts;

  constructor(facts: RegistryErrorFacts) {
    this.code = facts.code;
    this.severity = facts.severity;
    this.meaning = meaningOfIheError(facts.code);
    this.homeCommunity = homeCommunityOfLocation(facts.location);
    this.#facts = facts;
  }

  /** `codeContext`, which may name a patient: not to be shown or logged. */
  confidentialContext(): string | undefined {
    return this.#facts.context;
  }

  /**
   * The text of the element, where some stacks put the message: not to be shown
   * or logged.
   */
  confidentialText(): string | undefined {
    return this.#facts.text;
  }

  /** As written: empty, a class, or a trace of calls. Not to be shown or logged. */
  confidentialLocation(): string | undefined {
    return this.#facts.location;
  }
}

/** What every response of a registry or repository says. */
export interface RegistryOutcome {
  /** Undefined for a status that is none of IHE's, or missing. */
  status: RegistryStatus | undefined;

  /** As written. */
  statusWritten: string | undefined;

  problems: RegistryProblem[];
}

/**
 * Reads the status and the errors of a response: AdhocQueryResponse,
 * RegistryResponse. The error list may stand before or after what was found.
 */
export function readRegistryOutcome(response: XmlElement): RegistryOutcome {
  const statusWritten = attributeOf(response, 'status');

  return {
    status: readStatus(statusWritten),
    statusWritten,
    problems: registryChildren(response, 'RegistryErrorList')
      .flatMap((list) => registryChildren(list, 'RegistryError'))
      .map(readProblem),
  };
}

/** The problems that are no mere warnings. */
export function registryErrors(
  problems: readonly RegistryProblem[],
): RegistryProblem[] {
  return problems.filter(({ severity }) => severity === 'Error');
}

function readStatus(written: string | undefined): RegistryStatus | undefined {
  const status = lastSegment(written ?? '');

  // The bare word Error is seen in the place of Failure.
  if (status === 'Error') return 'Failure';

  return Object.hasOwn(RESPONSE_STATUSES, status)
    ? (status as RegistryStatus)
    : undefined;
}

function readProblem(error: XmlElement): RegistryProblem {
  const severity = lastSegment(attributeOf(error, 'severity') ?? '');

  return new RegistryProblem({
    code: attributeOf(error, 'errorCode') ?? '',
    severity: severity.toLowerCase() === 'warning' ? 'Warning' : 'Error',
    context: attributeOf(error, 'codeContext'),
    text: xmlText(error),
    location: error.attributes
      .find(({ name, namespace }) => name === 'location' && namespace === '')
      ?.value.trim(),
  });
}

/** Other stacks write names of classes, or nothing, into `location`. */
function homeCommunityOfLocation(
  location: string | undefined,
): string | undefined {
  const [, oid] = location?.match(/^(?:urn:oid:)?(\d+(?:\.\d+)+)$/i) ?? [];

  return oid;
}

/** An error that a responder reports. */
export interface RegistryFault {
  code: string;
  context: string;
  severity?: 'Error' | 'Warning' | undefined;

  /** In XCA, the home community concerned, with `urn:oid:`. */
  location?: string | undefined;
}

/** RegistryErrorList; nothing if there is no error. */
export function writeRegistryErrors(
  faults: readonly RegistryFault[],
): XmlFragment | undefined {
  if (faults.length === 0) return undefined;

  const isError = faults.some(({ severity }) => severity !== 'Warning');

  return xml`
    <rs:RegistryErrorList highestSeverity="${ERROR_SEVERITY}${isError ? 'Error' : 'Warning'}">
      ${faults.map(
        (fault) => xml`
          <rs:RegistryError
            errorCode="${fault.code}"
            codeContext="${fault.context}"
            severity="${ERROR_SEVERITY}${fault.severity ?? 'Error'}"
            location="${fault.location}"/>
        `,
      )}
    </rs:RegistryErrorList>
  `;
}

/** Writes RegistryResponse, the answer to ITI-41 and part of that to ITI-39. */
export function buildRegistryResponse(
  status: RegistryStatus,
  faults: readonly RegistryFault[] = [],
): XmlFragment {
  return xml`
    <rs:RegistryResponse xmlns:rs="${EBXML_RS}" status="${RESPONSE_STATUSES[status]}">
      ${writeRegistryErrors(faults)}
    </rs:RegistryResponse>
  `;
}
