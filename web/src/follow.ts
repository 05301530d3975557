// Follows a run that is on: asks the server that the page came from for newer data.

import type { Page } from "./data";

/** From an answer to the next request, ms. */
const PAUSE_MS = 1000;
/** Requests without an answer, in a row, after which there is no server any more. */
const TRIES = 5;

/** Calls `take` with newer data until those of the end have come, or `lost` when the server does not answer any more. */
export async function follow(take: (next: Page) => void, lost: () => void): Promise<void> {
  for (let failed = 0; failed < TRIES; ) {
    await new Promise((done) => setTimeout(done, PAUSE_MS));
    const next = await ask();
    failed = next ? 0 : failed + 1;
    if (next) take(next);
    if (next?.progress?.is_over) return;
  }
  lost();
}

async function ask(): Promise<Page | null> {
  try {
    const answer = await fetch("data.json", { cache: "no-store" });
    return answer.ok ? ((await answer.json()) as Page) : null;
  } catch {
    return null;
  }
}
