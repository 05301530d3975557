// Follows a run that is on: asks the server that the page came from for later data.

import type { Page } from "./data";

/** From a request that failed to the next one, ms. */
const PAUSE_MS = 1000;
/** Requests that fail, in a row, after which there is no server any more. */
const TRIES = 5;

/**
 * Calls `take` with later data until those of the end have come, or `lost` when the server does not answer any more. The
 * server holds an answer until there are later data: a hidden page, whose timers hardly run, follows too.
 */
export async function follow(now_s: number, take: (next: Page) => void, lost: () => void): Promise<void> {
  for (let failed = 0; failed < TRIES; ) {
    const next = await ask(now_s);
    if (next?.progress) {
      failed = 0;
      now_s = next.progress.now_s;
      take(next);
      if (next.progress.is_over) return;
    } else {
      failed++;
      await new Promise((done) => setTimeout(done, PAUSE_MS));
    }
  }
  lost();
}

async function ask(now_s: number): Promise<Page | null> {
  try {
    const answer = await fetch(`data.json?after=${now_s}`, { cache: "no-store" });
    return answer.ok ? ((await answer.json()) as Page) : null;
  } catch {
    return null;
  }
}
