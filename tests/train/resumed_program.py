"""Training programs that may be killed: `run(mode, folder, log, last_step, killed_at)`.

As a script it is run with these. Each step appends the bits of its loss to the log. A checkpoint,
every second step, has the variables, the optimizer's slots, a generator and a queue that is
shuffled; "asynchronous" has one for each part, in which threads train without locks.
"""

import os
import signal
import sys
import threading

import penstock as tf

tf1 = tf.compat.v1
train = tf1.train
THREADS = 3
WIDTH = 3000  # enough for XLA to compile what functions and sessions run


class Log:
    """The file of losses; kills the process after a step."""

    def __init__(self, path, killed_at):
        self.file = open(path, "a")  # noqa: SIM115  (closed by close)
        self.killed_at = killed_at
        self.lock = threading.Lock()  # guards: file

    def add(self, step, text):
        with self.lock:
            self.file.write(f"{step} {text}\n")
            self.file.flush()
            if step == self.killed_at:
                os.kill(os.getpid(), signal.SIGKILL)

    def close(self):
        self.file.close()


def bits(value):
    return value.tobytes().hex()


def in_sessions(folder, log, last_step):
    with tf.Graph().as_default():
        step = train.get_or_create_global_step()
        generator = tf.random.Generator.from_seed(7)
        rows = tf.queue.RandomShuffleQueue(32, 0, [tf.float32], [[WIDTH]], seed=5, name="rows")
        tf1.add_to_collection(tf1.GraphKeys.SAVEABLE_OBJECTS, rows)
        fill = rows.enqueue_many([generator.normal([12, WIDTH])])
        x = rows.dequeue_many(3)
        with tf.control_dependencies([x]):
            more = rows.enqueue_many([generator.normal([3, WIDTH])])
        weights = tf1.get_variable("w", initializer=tf.ones([WIDTH, 1]))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - 2.0))
        update = train.AdamOptimizer(0.1).minimize(loss, global_step=step)
        filled = rows.size()
        hooks = [train.StopAtStepHook(last_step=last_step)]
        with train.MonitoredTrainingSession(
            checkpoint_dir=folder,
            hooks=hooks,
            save_checkpoint_steps=2,
            save_summaries_steps=None,
            log_step_count_steps=None,
            save_graph_def=False,
        ) as session:

            def begin(step_context):
                raw = step_context.session
                if raw.run(filled) == 0:
                    raw.run(fill)
                return int(raw.run(step))

            at = session.run_step_fn(begin)
            while not session.should_stop():
                value, _, _ = session.run([loss, update, more])
                at += 1
                log.add(at, bits(value))


def eagerly(folder, log, last_step, traced=False):
    step = tf.Variable(0, dtype=tf.int64)
    generator = tf.random.Generator.from_seed(7)
    rows = tf.queue.RandomShuffleQueue(32, 0, [tf.float32], [[WIDTH]], seed=5)
    weights = tf.Variable(tf.ones([WIDTH, 1]))
    optimizer = train.AdamOptimizer(0.1)
    rows.enqueue_many([generator.normal([12, WIDTH])])

    def update():
        x = rows.dequeue_many(3)
        rows.enqueue_many([generator.normal([3, WIDTH])])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - 2.0))
        optimizer.apply_gradients(zip(tape.gradient(loss, [weights]), [weights], strict=True))
        step.assign_add(1)
        return loss

    if traced:
        update = tf.function(update)
    checkpoint = tf.train.Checkpoint(
        step=step, generator=generator, rows=rows, weights=weights, optimizer=optimizer
    )
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    manager.restore_or_initialize()
    while int(step) < last_step:
        loss = update()
        log.add(int(step), bits(loss.numpy()))
        if int(step) % 2 == 0:
            manager.save()


def asynchronously(folder, log, last_step, replayed=None, buffer_size=1024, partial=False):
    """Parts of four steps for each thread; each part is recorded, or replayed from `replayed`."""
    debug = tf.debugging.experimental
    part = tf.Variable(0, dtype=tf.int64)
    rows = tf.queue.RandomShuffleQueue(64, 0, [tf.float32], [[3]], seed=5)
    weights = tf.Variable(tf.ones([3, 1]))
    slot = tf.Variable(tf.zeros([3, 1]))
    rows.enqueue_many([tf.random.stateless_normal([24, 3], [1, 2])])

    @tf.function
    def update():
        x = rows.dequeue_many(2)
        loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - 2.0))
        slot.assign(0.9 * slot + tf.gradients(loss, weights)[0])
        weights.assign_sub(0.02 * slot)
        rows.enqueue_many([x + 0.1 * tf.random.normal([2, 3])])
        return loss

    update.get_concrete_function()
    checkpoint = tf.train.Checkpoint(part=part, rows=rows, weights=weights, slot=slot)
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    manager.restore_or_initialize()

    def work(number, at):
        with debug.acting_as(f"worker {number}"):
            for k in range(4):
                text = bits(update().numpy())
                log.add(at * 100 + number * 10 + k, text)

    while int(part) < last_step:
        at = int(part) + 1
        path = os.path.join(replayed or folder, f"effects-{at}")
        if replayed:
            effects = debug.replay_effects(path, partial=partial)
        else:
            effects = debug.record_effects(path, buffer_size)
        with effects:
            threads = [threading.Thread(target=work, args=(n, at)) for n in range(THREADS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        part.assign(at)
        manager.save()


MODES = {
    "session": in_sessions,
    "eager": eagerly,
    "function": lambda folder, log, last: eagerly(folder, log, last, traced=True),
    "asynchronous": asynchronously,
    "recorded": lambda *given: asynchronously(*given, buffer_size=1),
    "repeated": lambda *given, replayed: asynchronously(*given, replayed, partial=True),
}


def run(mode, folder, log, last_step, killed_at=None, **more):
    os.makedirs(folder, exist_ok=True)
    tf.random.set_seed(1)  # whatever ran in this process before
    losses = Log(log, killed_at)
    try:
        MODES[mode](str(folder), losses, last_step, **more)
    finally:
        losses.close()


if __name__ == "__main__":
    more = {"replayed": sys.argv[6]} if len(sys.argv) > 6 else {}
    run(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), **more)
