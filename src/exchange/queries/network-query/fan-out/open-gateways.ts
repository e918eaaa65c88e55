import { sql } from 'kysely';
import type { SourceStepInput } from '../../../../contract/network-query-workflow.ts';
import { counted } from '../../../../lib/counted.ts';
import type { AccountTx } from '../../../platform/database/database.ts';
import { rememberGateways } from '../../../sources/connections/gateway-store.ts';
import type { GatewayChoice } from '../../../sources/directory/rules/choose-gateways.ts';
import { updateAttempt } from '../attempt-store.ts';
import { addOfStep } from '../timeline-store.ts';
import { insertAsks } from './ask-store.ts';
import { type ChoicePatient, explainChoices } from './choice.ts';

/**
 * Chooses the gateways that an attempt asks, of all networks that the account is
 * connected to, writes a row for each and says in the timeline how many there
 * are. Returns false when there is no such network.
 */
export async function openGateways(
  tx: AccountTx,
  step: SourceStepInput,
  patient: ChoicePatient,
): Promise<boolean> {
  if (step.source !== 'hie') return false;
  const choices = await explainChoices(tx, patient);
  if (choices.length === 0) return false;

  let firstPlace = 0;
  for (const { connection, ...choice } of choices) {
    const { chosen } = choice;
    const remembered = await rememberGateways(tx, connection.id, chosen);
    const gateways = remembered.map(({ id, homeCommunity }, index) => ({
      id,
      homeCommunity,
      because: chosen[index]?.because ?? 'near',
    }));
    const place = {
      patientId: patient.id,
      connectionId: connection.id,
      firstPlace,
    };
    await insertAsks(tx, step, place, gateways);
    firstPlace += gateways.length;
    await addOfStep(tx, step, {
      kind: 'asked',
      message: choiceWords(connection.name, choice),
      onceKey: `gateways/${step.source}/${step.attempt}/${connection.id}`,
    });
  }
  await updateAttempt(tx, step)
    .set({ gateways_chosen_at: sql<Date>`now()` })
    .execute();
  return true;
}

function choiceWords(name: string, { chosen, leftOut }: GatewayChoice): string {
  const reasons = Object.entries(leftOut)
    .filter(([, gateways]) => gateways > 0)
    .map(([reason, gateways]) => `${gateways} ${reason}`);
  const others =
    reasons.length === 0 ? '' : `; not asked: ${reasons.join(', ')}`;
  return `Asking ${counted(chosen.length, 'gateway')} of ${name}${others}`;
}
