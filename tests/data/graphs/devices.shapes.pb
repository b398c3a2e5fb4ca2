
V
xPlaceholder"/job:localhost*
_output_shapes
:*
dtype0*
shape:
N
ySquarex"/job:localhost/device:CPU:0*
T0*
_output_shapes
:
a
zNegy"/job:localhost/device:CPU:0*
T0*
_class

loc:@y*
_output_shapes
:"ª