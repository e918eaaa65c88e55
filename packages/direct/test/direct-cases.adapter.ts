import { type DirectMail, readMail } from '../src/index.ts';

/*
 * Our reader in the words of the networks' cases: what direct-cases.test.ts
 * compares, and what the runner of the cases takes.
 */

async function readDirect(bytes: Uint8Array) {
  const mail = await readMail(bytes);

  return {
    ...reportFacts(mail),
    context: contextFacts(mail),
    attachments: mail.attachments.map(({ fileName, contentType, content }) => ({
      fileName: fileName ?? null,
      contentType,
      length: content.length,
    })),
  };
}

function reportFacts({ report }: DirectMail) {
  if (report === undefined) return { report: null };

  if (report.kind === 'mdn') {
    return {
      report: 'mdn',
      about: report.about ?? null,
      finalRecipient: report.finalRecipient ?? null,
      disposition: report.disposition ?? null,
      modifiers: report.modifiers,
    };
  }

  const [recipient] = report.recipients;

  return {
    report: 'dsn',
    about: report.about ?? null,
    finalRecipient: recipient?.finalRecipient ?? null,
    action: recipient?.action ?? null,
    status: recipient?.status ?? null,
  };
}

function contextFacts({ context }: DirectMail) {
  if (context === undefined) return null;

  return {
    ...context,
    patient: context.patient ?? null,
    type: context.type ?? null,
    purpose: context.purpose ?? null,
  };
}

export { readDirect as direct };
