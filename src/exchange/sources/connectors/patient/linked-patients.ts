import type { Demographics } from '../../../people/patients/rules/demographics.ts';
import { agreesWithPerson } from '../../../people/patients/rules/patient-matching.ts';
import { patientIdOf } from '../collect/subjects.ts';
import type { SourceContext } from '../source-context.ts';
import { type ReadPatient, readPatient } from './patient-shape.ts';

const LINK_DEPTH_MAX = 3;
const PATIENTS_MAX = 10;

/**
 * The ids of the trusted Patients and of the Patients they link to (`Patient.link`: replaced-by, replaces, refer,
 * seealso), if those agree with the person. A linked Patient that no longer exists is ignored.
 */
export async function linkedPatients(
  context: SourceContext,
  person: Demographics,
  trusted: ReadPatient[],
  signal: AbortSignal,
): Promise<string[]> {
  const ids = new Set(trusted.slice(0, PATIENTS_MAX).map(({ id }) => id));
  const seen = new Set(ids);
  let layer = trusted;
  for (let depth = 0; depth < LINK_DEPTH_MAX && layer.length > 0; depth += 1) {
    const linked: ReadPatient[] = [];
    for (const id of layer.flatMap((patient) => linksOf(context, patient))) {
      if (seen.has(id) || seen.size >= PATIENTS_MAX) continue;
      seen.add(id);
      const patient = await readById(context, id, signal);
      if (patient === undefined || !agreesWithPerson(person, patient)) continue;
      ids.add(patient.id);
      linked.push(patient);
    }
    layer = linked;
  }
  return [...ids];
}

function linksOf({ config }: SourceContext, patient: ReadPatient): string[] {
  return (patient.link ?? []).flatMap(({ other }) => patientIdOf(other.reference ?? '', config) ?? []);
}

async function readById({ config, http }: SourceContext, id: string, signal: AbortSignal) {
  const label = 'a linked Patient';
  const response = await http.send({
    method: 'GET',
    url: new URL(`Patient/${id}`, config.baseUrl),
    label,
    signal,
  });
  if (response.status === 404 || response.status === 410) {
    await response.discard();
    return undefined;
  }
  if (response.status !== 200) throw await http.failureOf(response, label);
  const patient = readPatient((await http.readJson(response, label)).json);
  // Ignored if the source returned a different Patient than requested.
  return patient?.id === id ? patient : undefined;
}
