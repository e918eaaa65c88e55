import { z } from 'zod';
import { isJson, type Json, objectsOf } from '#record-summary/fhir';
import { ViewError } from '#sql-on-fhir';
import { InvalidRequestError } from '../../../platform/errors.ts';
import {
  type PlannedView,
  TABLE_FORMATS,
  type ViewPlan,
} from '../rules/view-run.ts';
import { planView } from './planned-view.ts';
import { READY_VIEWS } from './ready-views.ts';
import { KEPT_ELEMENTS } from './safe-harbor.ts';

/**
 * A kick-off of `$viewdefinition-export`; without `since`, an incremental run
 * follows the last one.
 */
export type ViewRequest = Awaited<ReturnType<typeof readRequest>>;

const referenceTo = (type: string) =>
  z.object({
    reference: z
      .string()
      .startsWith(`${type}/`, { error: `must refer to a ${type}` }),
  });
/** Ten views, and one of each other parameter. */
const PARAMETERS_MAX = 20;
/**
 * The parameters by name. One that is unknown is refused: ignored, it could
 * multiply the data.
 */
const requestSchema = z.strictObject({
  view: z
    .array(
      z.union([
        referenceTo('ViewDefinition'),
        z.looseObject({ resource: z.string() }),
      ]),
    )
    .min(1)
    .max(10),
  _format: z.enum(TABLE_FORMATS).default('ndjson'),
  group: referenceTo('Group').optional(),
  _since: z.iso.datetime({ offset: true }).optional(),
  incremental: z.boolean().default(false),
  deidentified: z.boolean().default(false),
});

/**
 * Reads the Parameters of a kick-off, and checks its definitions.
 *
 * @param readDefinitions of those that the caller wrote
 * @throws InvalidRequestError (400) in one sentence
 */
export async function readViewRequest(
  body: unknown,
  readDefinitions: ReadDefinitions,
): Promise<ViewRequest> {
  try {
    return await readRequest(body, readDefinitions);
  } catch (error) {
    if (error instanceof ViewError)
      throw new InvalidRequestError([{ path: '', message: error.message }]);
    throw error;
  }
}

type ReadDefinitions = (definitions: readonly Json[]) => Promise<PlannedView[]>;

async function readRequest(body: unknown, readDefinitions: ReadDefinitions) {
  const {
    view,
    _format: format,
    group,
    _since,
    incremental: isIncremental,
    deidentified: isDeidentified,
  } = readParameters(body);
  const ready = view.map(readyView);
  const own = view.filter((_, index) => ready[index] === undefined);
  const planned = await readDefinitions(own);
  const views = ready.flatMap((each) => each ?? planned.shift() ?? []);
  const plan: ViewPlan = { format, isDeidentified, views };
  const since = _since && new Date(_since).toISOString();
  checkTogether(plan, { isIncremental, since });
  return {
    plan,
    cohortId: group?.reference.slice('Group/'.length),
    since,
    isIncremental,
  };
}

function readParameters(body: unknown) {
  const parameters = objectsOf(isJson(body) ? body.parameter : undefined);
  if (parameters.length > PARAMETERS_MAX)
    throw new ViewError(`A run has at most ${PARAMETERS_MAX} parameters`);
  const valueIn = (of: Json | undefined) =>
    Object.entries(of ?? {}).find(
      ([name]) => name === 'resource' || name.startsWith('value'),
    )?.[1];
  const views = parameters
    .filter(({ name }) => name === 'view')
    .map(({ part }) => valueIn(objectsOf(part)[0]));
  const parsed = requestSchema.safeParse({
    ...Object.fromEntries(parameters.map((each) => [each.name, valueIn(each)])),
    view: views,
  });
  if (!parsed.success) throw new ViewError(faultsOf(parsed.error));
  return parsed.data;
}

const FAULTS_MAX = 20;

/** What the schema refuses, the first ones each with its place, in one line. */
function faultsOf({ issues }: z.ZodError): string {
  const faults = issues
    .slice(0, FAULTS_MAX)
    .map(({ path, message }) => `${z.core.toDotPath(path)}: ${message}`);
  const rest = issues.length - FAULTS_MAX;
  return [...faults, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ');
}

/** Undefined for a definition that the caller wrote. */
function readyView(given: Json): PlannedView | undefined {
  if ('resource' in given) return undefined;
  const id = String(given.reference).replace('ViewDefinition/', '');
  const definition = READY_VIEWS.get(id);
  if (definition === undefined)
    throw new ViewError(
      `There is no ViewDefinition ${id.slice(0, 80)}; the ready-made ones are ${[...READY_VIEWS.keys()].join(', ')}`,
    );
  return planView(definition);
}

function checkTogether(
  { views, isDeidentified }: ViewPlan,
  { isIncremental, since }: { isIncremental: boolean; since?: string },
): void {
  const names = views.map(({ name }) => name);
  const twice = names.find(
    (name, index) =>
      names.indexOf(name) < index || /^(?:deleted|error)$/.test(name),
  );
  const isPartial = isIncremental || since !== undefined;
  const keyless = views.find(({ key }) => key === undefined);
  const shown = views.find(
    ({ resource }) => !Object.hasOwn(KEPT_ELEMENTS, resource),
  );
  const fault = [
    twice !== undefined &&
      `Give each view a name of its own; ${twice} is taken`,
    isIncremental && since !== undefined && 'Pass either incremental or _since',
    isPartial &&
      isDeidentified &&
      'A de-identified run is always whole: from when a row is new, its date would follow. Leave out incremental and _since',
    isPartial &&
      keyless !== undefined &&
      `${keyless.name}: an incremental run needs a column with the path getResourceKey(), outside of forEach, by which rows are replaced`,
    isDeidentified &&
      shown !== undefined &&
      `${shown.name}: ${shown.resource} has no de-identified form; only ${Object.keys(KEPT_ELEMENTS).join(', ')} have`,
  ].find((each) => each !== false);
  if (fault !== undefined) throw new ViewError(fault);
}

/** What the manifest of a run says about its tables, besides its files. */
export const describeTables = ({
  format,
  isDeidentified,
  views,
}: ViewPlan) => ({
  format,
  deidentified: isDeidentified,
  views: views.map(({ name, resource, definition, columns }) => ({
    name,
    resource,
    columns: columns ?? planView(definition).columns,
  })),
});
