"""A training program that may be killed: `run(folder, log, last_step, killed_at)`.

As a script it is run with these as arguments. Each step appends the bits of its loss to the log.
"""

import os
import signal
import sys

import penstock as tf

tf1 = tf.compat.v1
train = tf1.train


def run(folder, log, last_step, killed_at=None):
    with tf.Graph().as_default():
        step = train.get_or_create_global_step()
        generator = tf.random.Generator.from_seed(7)
        x = generator.normal([8, 3])
        weights = tf1.get_variable("w", initializer=tf.ones([3, 1]))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - 2.0))
        update = train.AdamOptimizer(0.1).minimize(loss, global_step=step)
        hooks = [train.StopAtStepHook(last_step=last_step)]
        with train.MonitoredTrainingSession(
            checkpoint_dir=folder,
            hooks=hooks,
            save_checkpoint_steps=2,
            save_summaries_steps=None,
            log_step_count_steps=None,
            save_graph_def=False,
        ) as session:
            at = int(session.run_step_fn(lambda step_context: step_context.session.run(step)))
            with open(log, "a") as file:
                while not session.should_stop():
                    value, _ = session.run([loss, update])
                    at += 1
                    file.write(f"{at} {value.tobytes().hex()}\n")
                    file.flush()
                    if at == killed_at:
                        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
